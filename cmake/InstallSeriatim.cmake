include(CMakePackageConfigHelpers)

# seriatim::seriatim is what users link: the rooms a program needs, without the command.
add_library(seriatim INTERFACE)
add_library(seriatim::seriatim ALIAS seriatim)
target_link_libraries(seriatim INTERFACE seriatim_postgres seriatim_runtime seriatim_core)

install(TARGETS seriatim seriatim_core seriatim_runtime seriatim_postgres
        EXPORT seriatimTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT seriatimTargets NAMESPACE seriatim:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/seriatim)
install(DIRECTORY include/seriatim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET seriatim_app)
  install(TARGETS seriatim_app RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS seriatim_lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lab)
endif()

configure_package_config_file(cmake/seriatimConfig.cmake.in
  ${CMAKE_BINARY_DIR}/seriatimConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/seriatim)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/seriatimConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/seriatimConfig.cmake ${CMAKE_BINARY_DIR}/seriatimConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/seriatim)
