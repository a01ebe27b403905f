set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# A shared library that a user makes of ours shows none of our names.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(CCACHE ccache)
if(CCACHE)
  # What ccache asks for before it takes code that reads precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

if(SERIATIM_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-subobject-linkage)  # g++ takes every grouped source for a header
  endif()
endif()

set(SERIATIM_SANITIZE "" CACHE STRING "address (with undefined), thread, or empty")
set_property(CACHE SERIATIM_SANITIZE PROPERTY STRINGS "" address thread)
if(SERIATIM_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SERIATIM_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # Asio's fences, which g++ cannot instrument
  endif()
  add_link_options(-fsanitize=thread)
endif()

# Our own targets get these by linking seriatim_warnings privately.
add_library(seriatim_warnings INTERFACE)
target_compile_options(seriatim_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # The second: macros of librdkafka.
  target_compile_options(seriatim_warnings INTERFACE
    -Wno-missing-field-initializers -Wno-gnu-statement-expression)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside its own <string> and <optional> at -O2 (GCC bugs 105329, 105562, 105651); the
  # last three only if the header was precompiled, because it then forgets that it is the system's.
  target_compile_options(seriatim_warnings INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-missing-field-initializers -Wno-array-bounds -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()

# One room of the house: seriatim_room(NAME SOURCES … PUBLIC … PRIVATE … SEPARATE …). Sources that use the same
# private names as others of the room are named under SEPARATE (SERIATIM_UNITY compiles them alone).
function(seriatim_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;PUBLIC;PRIVATE;SEPARATE" ${ARGN})
  set_source_files_properties(${ROOM_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${ROOM_PUBLIC} PRIVATE $<BUILD_INTERFACE:seriatim_warnings>)
  foreach(library ${ROOM_PRIVATE})
    target_link_libraries(${name} PRIVATE ${library})
  endforeach()
  if(PkgConfig::pqxx IN_LIST ROOM_PRIVATE)
    target_precompile_headers(${name} REUSE_FROM seriatim_precompiled_pqxx)
  else()
    target_precompile_headers(${name} REUSE_FROM seriatim_precompiled_std)
  endif()
endfunction()

# A room with the mutation and crash points of core/mutant.hpp and core/crash_point.hpp alive, for the
# simulation, the isolation tests and seriatim_hooked; never installed:
# seriatim_mutable_room(ROOM [LIBRARIES…]) makes ROOM_mutable. It holds only the sources that include one of the two
# (no header does), as objects: whoever links it directly gets these, and the rest from the room itself.
function(seriatim_mutable_room room)
  get_target_property(sources ${room} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source)
    file(STRINGS ${source} points REGEX "core/(crash_point|mutant)\\.hpp\"" LIMIT_COUNT 1)
    if(points)
      list(APPEND with_points ${source})
    endif()
  endforeach()
  # The linker takes a whole object or nothing, so these must not share one with other sources. They stand
  # alone in builds without tests too, so that every build has the same groups: private names that clash in a group are
  # then found by each of them.
  set_source_files_properties(${with_points} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  if(NOT SERIATIM_BUILD_TESTS)
    return()
  endif()
  add_library(${room}_mutable OBJECT EXCLUDE_FROM_ALL ${with_points})
  target_compile_definitions(${room}_mutable PUBLIC SERIATIM_MUTANTS)
  target_include_directories(${room}_mutable PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${room}_mutable PUBLIC ${room} PRIVATE seriatim_warnings ${ARGN})
  get_target_property(precompiled ${room} PRECOMPILE_HEADERS_REUSE_FROM)
  target_precompile_headers(${room}_mutable REUSE_FROM ${precompiled})
endfunction()
