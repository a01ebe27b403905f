# Every sql/**/NAME.sql becomes `seriatim::sql::NAME` (migrations: an ordered list), so that SQL is
# written where people who read SQL look for it and the program needs no files at run time.
set(SERIATIM_SQL_HEADER ${CMAKE_BINARY_DIR}/generated/seriatim_sql.hpp)
file(GLOB_RECURSE SERIATIM_SQL_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/*.sql)
add_custom_command(
  OUTPUT ${SERIATIM_SQL_HEADER}
  COMMAND ${CMAKE_COMMAND} -DSQL_DIR=${PROJECT_SOURCE_DIR}/sql -DOUTPUT=${SERIATIM_SQL_HEADER}
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql_script.cmake
  DEPENDS ${SERIATIM_SQL_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed_sql_script.cmake
  COMMENT "Embedding SQL")
add_custom_target(seriatim_sql_header DEPENDS ${SERIATIM_SQL_HEADER})
add_library(seriatim_sql INTERFACE)
target_include_directories(seriatim_sql INTERFACE ${CMAKE_BINARY_DIR}/generated)
add_dependencies(seriatim_sql seriatim_sql_header)
