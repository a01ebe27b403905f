include(CMakePackageConfigHelpers)

# seriatim::seriatim is what users link: the rooms a program needs, without the command.
add_library(seriatim INTERFACE)
add_library(seriatim::seriatim ALIAS seriatim)
target_link_libraries(seriatim INTERFACE seriatim_postgres seriatim_runtime seriatim_core)
target_compile_features(seriatim INTERFACE cxx_std_20)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME seriatim-dev)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/seriatim)
install(TARGETS seriatim seriatim_core seriatim_runtime seriatim_postgres
        EXPORT seriatimTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT seriatimTargets NAMESPACE seriatim:: DESTINATION ${config_folder})
install(DIRECTORY include/seriatim ${CMAKE_BINARY_DIR}/generated/include/seriatim
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Each kind of handler is a component, seriatim::KIND, with its targets in a file of their own, so that a
# program finds only the client library of the kind that it names.
install(TARGETS seriatim_handler_support EXPORT seriatim-supportTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT seriatim-supportTargets NAMESPACE seriatim:: DESTINATION ${config_folder})
get_property(kinds GLOBAL PROPERTY seriatim_kinds)
set(client_libraries "")
foreach(kind ${kinds})
  set_target_properties(seriatim_handler_${kind} PROPERTIES EXPORT_NAME ${kind})
  target_link_libraries(seriatim_handler_${kind} INTERFACE $<INSTALL_INTERFACE:seriatim::seriatim>)
  install(TARGETS seriatim_handler_${kind} EXPORT seriatim-${kind}Targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT seriatim-${kind}Targets NAMESPACE seriatim:: DESTINATION ${config_folder})
  get_target_property(libraries seriatim_handler_${kind} LINK_LIBRARIES)
  string(REGEX MATCHALL "PkgConfig::[a-z0-9_]+" libraries "${libraries}")
  list(TRANSFORM libraries REPLACE "PkgConfig::" "")
  string(APPEND client_libraries "set(seriatim_client_libraries_${kind} \"${libraries}\")\n")
endforeach()
if(TARGET seriatim_app)
  install(TARGETS seriatim_app RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT seriatim)
  # `./run demo` builds no seriatim-lab; what it made can be installed all the same.
  install(TARGETS seriatim_lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT seriatim-lab OPTIONAL)
endif()

configure_package_config_file(cmake/seriatimConfig.cmake.in
  ${CMAKE_BINARY_DIR}/seriatimConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/seriatim)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/seriatimConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/seriatimConfig.cmake ${CMAKE_BINARY_DIR}/seriatimConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/seriatim)

# The Debian packages seriatim, seriatim-lab (torture, bench) and seriatim-dev: `cpack` in the build folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the seriatim engineers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_COMPONENTS_ALL seriatim seriatim-lab seriatim-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
foreach(component seriatim seriatim-lab seriatim-dev)
  string(TOUPPER ${component} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${component})
endforeach()
set(CPACK_DEBIAN_SERIATIM-LAB_PACKAGE_DEPENDS "seriatim (= ${PROJECT_VERSION})")
# What find_package(seriatim) looks for, with components too. Debian 12 has Boost 1.81 under names of its own. The client
# libraries of brokers are for the programs that name their component.
set(CPACK_DEBIAN_SERIATIM-DEV_PACKAGE_DEPENDS
  "pkg-config, libpq-dev, libpqxx-dev, libssl-dev, libboost-context-dev (>= 1.81) | libboost-context1.81-dev, libboost-json-dev (>= 1.81) | libboost-json1.81-dev, libboost-url-dev (>= 1.81) | libboost-url1.81-dev")
set(CPACK_DEBIAN_SERIATIM-DEV_PACKAGE_SUGGESTS "libhiredis-dev, libnats-dev, librabbitmq-dev, librdkafka-dev")
include(CPack)
