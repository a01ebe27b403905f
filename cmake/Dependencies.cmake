# Packages of Debian 12 and 13; packages/list.txt names them. Debian 12 has Boost 1.74, too, which is too old.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS context json url)
find_package(OpenSSL REQUIRED)
find_package(spdlog REQUIRED)
# The packaged library is not instrumented, so ThreadSanitizer would see races where it synchronises.
add_library(seriatim_spdlog INTERFACE)
if(SERIATIM_SANITIZE STREQUAL "thread")
  target_link_libraries(seriatim_spdlog INTERFACE spdlog::spdlog_header_only)
else()
  target_link_libraries(seriatim_spdlog INTERFACE spdlog::spdlog)
endif()
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(pqxx REQUIRED IMPORTED_TARGET libpqxx)
if(SERIATIM_BUILD_APP)
  find_package(prometheus-cpp REQUIRED COMPONENTS core)
endif()
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq>=14)  # pipeline mode

find_path(MUSTACHE_INCLUDE kainjow/mustache.hpp REQUIRED)
add_library(seriatim_mustache INTERFACE)
target_include_directories(seriatim_mustache SYSTEM INTERFACE ${MUSTACHE_INCLUDE})

if(SERIATIM_BUILD_TESTS)
  find_package(doctest REQUIRED)
endif()
