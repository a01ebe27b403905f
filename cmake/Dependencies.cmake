# Debian 12 packages; packages.txt names them. Boost 1.81 stands beside 1.74 there.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
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
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq>=14)  # pipeline mode

find_path(MUSTACHE_INCLUDE kainjow/mustache.hpp REQUIRED)
add_library(seriatim_mustache INTERFACE)
target_include_directories(seriatim_mustache SYSTEM INTERFACE ${MUSTACHE_INCLUDE})

if(SERIATIM_BUILD_TESTS OR PROJECT_IS_TOP_LEVEL)
  find_package(doctest REQUIRED)
endif()
