# sql/ROOM/NAME.sql becomes `seriatim::sql::ROOM::NAME` in <sql/ROOM.hpp>, and sql/migrations/ the ordered
# `seriatim::sql::migrations`: SQL is written where people who read SQL look for it, and the program needs
# no files at run time. One header a room, so that a changed statement compiles its room anew and no other.
set(SERIATIM_SQL_INCLUDES ${CMAKE_BINARY_DIR}/generated)
file(GLOB sql_rooms CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/sql ${PROJECT_SOURCE_DIR}/sql/*)
list(REMOVE_ITEM sql_rooms functions views)  # quoted by migrations
set(sql_headers)
foreach(room ${sql_rooms})
  file(GLOB sql_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/${room}/*.sql)
  if(room STREQUAL migrations)
    file(GLOB quoted CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/functions/*.sql ${PROJECT_SOURCE_DIR}/sql/views/*.sql)
    list(APPEND sql_files ${quoted})
  endif()
  string(SHA1 names "${sql_files}")  # a file that is gone changes the command, so it is run again
  set(header ${SERIATIM_SQL_INCLUDES}/sql/${room}.hpp)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DSQL_DIR=${PROJECT_SOURCE_DIR}/sql -DROOM=${room} -DOUTPUT=${header} -DNAMES=${names}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql_script.cmake
    DEPENDS ${sql_files} ${PROJECT_SOURCE_DIR}/cmake/embed_sql_script.cmake
    COMMENT "Embedding sql/${room}")
  list(APPEND sql_headers ${header})
endforeach()
add_custom_target(seriatim_sql_header DEPENDS ${sql_headers})
add_library(seriatim_sql INTERFACE)
target_include_directories(seriatim_sql INTERFACE ${SERIATIM_SQL_INCLUDES})
add_dependencies(seriatim_sql seriatim_sql_header)
