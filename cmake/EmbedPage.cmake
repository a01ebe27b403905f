# src/console/page/* becomes <console_page.hpp>: the program needs no files at run time, and a page written as files
# can be read by people who know pages.
set(SERIATIM_PAGE_INCLUDES ${CMAKE_BINARY_DIR}/generated/page)
file(GLOB page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/console/page/*)
string(SHA1 names "${page_files}")  # a file that is gone changes the command, so it is run again
add_custom_command(
  OUTPUT ${SERIATIM_PAGE_INCLUDES}/console_page.hpp
  COMMAND ${CMAKE_COMMAND} -DPAGE_DIR=${PROJECT_SOURCE_DIR}/src/console/page -DNAMES=${names}
          -DOUTPUT=${SERIATIM_PAGE_INCLUDES}/console_page.hpp -P ${PROJECT_SOURCE_DIR}/cmake/embed_page_script.cmake
  DEPENDS ${page_files} ${PROJECT_SOURCE_DIR}/cmake/embed_page_script.cmake
  COMMENT "Embedding src/console/page")
add_custom_target(seriatim_page_header DEPENDS ${SERIATIM_PAGE_INCLUDES}/console_page.hpp)
add_library(seriatim_page INTERFACE)
target_include_directories(seriatim_page INTERFACE ${SERIATIM_PAGE_INCLUDES})
add_dependencies(seriatim_page seriatim_page_header)
