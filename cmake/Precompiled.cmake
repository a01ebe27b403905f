# Headers that are compiled once and read by all: of the standard library, with libpqxx or with doctest.
# Compiled once in a target of its own; ccache takes such headers only with these settings.
function(seriatim_precompiled_header name)
  cmake_parse_arguments(HEADER "" "" "OPTIONS;LIBRARIES" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(seriatim_precompiled_${name} OBJECT ${source})
  target_link_libraries(seriatim_precompiled_${name} PRIVATE seriatim_warnings ${HEADER_LIBRARIES})
  target_compile_options(seriatim_precompiled_${name} PRIVATE ${HEADER_OPTIONS})
  target_precompile_headers(seriatim_precompiled_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${name}.hpp)
endfunction()

seriatim_precompiled_header(std)
seriatim_precompiled_header(pqxx LIBRARIES PkgConfig::pqxx)
if(SERIATIM_BUILD_TESTS)
  # The code of programs is compiled with -fPIE, so what they read must be too.
  seriatim_precompiled_header(tests OPTIONS -fPIE LIBRARIES doctest::doctest)
  set_target_properties(seriatim_precompiled_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endif()
