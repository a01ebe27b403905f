# seriatim_test(NAME SOURCES … LIBRARIES … LABELS … [SEPARATE …] [TIMEOUT seconds]): one doctest program, one
# ctest entry. Labels: fast (no server), postgres (starts one), broker
# (starts a broker), slow (tens of seconds). ARGUMENTS are the program's own. A program ends with 77
# if what it needs is not here (tests/support/skip.hpp): ctest then reports it as skipped. SEPARATE: as for
# seriatim_room.
function(seriatim_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;SEPARATE;LIBRARIES;LABELS;ARGUMENTS" ${ARGN})
  set_source_files_properties(${TEST_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 1200)  # a loaded machine takes three times as long as a quiet one
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests
                                             ${PROJECT_SOURCE_DIR}/handlers)
  target_link_libraries(${name} PRIVATE seriatim_test_main seriatim_warnings ${TEST_LIBRARIES})
  target_precompile_headers(${name} REUSE_FROM seriatim_precompiled_tests)
  add_test(NAME ${name} COMMAND ${name} ${TEST_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT}
                                           SKIP_RETURN_CODE 77)
endfunction()
