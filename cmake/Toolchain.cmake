set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE ccache)
if(CCACHE)
  # What ccache asks for before it takes code that reads precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
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

# One room of the house: seriatim_room(NAME SOURCES … PUBLIC … PRIVATE …)
function(seriatim_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
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

# The same sources with the mutation and crash points of core/mutant.hpp and core/crash_point.hpp
# alive: for the simulation and for seriatim_hooked, never installed.
function(seriatim_mutable_room name)
  if(SERIATIM_BUILD_TESTS)
    seriatim_room(${name} ${ARGN})
    target_compile_definitions(${name} PUBLIC SERIATIM_MUTANTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
