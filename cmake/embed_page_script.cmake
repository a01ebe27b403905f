# cmake -DPAGE_DIR=… -DOUTPUT=… -P embed_page_script.cmake
# `seriatim::console::page::files`, an Asset a file, and `hash`, which changes with any of them.
file(GLOB files ${PAGE_DIR}/*)
list(SORT files)
set(types_html "text/html; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_svg "image/svg+xml")

set(items "")
set(hashes "")
list(LENGTH files count)
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  string(REGEX MATCH "[a-z]+$" extension ${name})
  if(NOT DEFINED types_${extension})
    message(FATAL_ERROR "${file}: its content type is not known; name it in cmake/embed_page_script.cmake")
  endif()
  file(READ ${file} text)
  # Comment lines and indentation are for those who read the sources: the page is 7 % smaller without.
  string(REGEX REPLACE "\n *(//|/[*][*]| [*] | [*]/)[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "\n +" "\n" text "${text}")
  string(SUBSTRING "${text}" 1 -1 text)
  file(SHA256 ${file} sum)
  string(APPEND hashes "${name} ${sum}\n")
  string(APPEND items "    Asset{\"${name}\", \"${types_${extension}}\", R\"__page__(${text})__page__\"},\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT} "// Made from src/console/page/ at build time.
#pragma once
#include <array>
#include <string_view>

#include \"console/page_files.hpp\"

namespace seriatim::console::page {

inline constexpr std::string_view hash = \"${hash}\";
inline constexpr std::array<Asset, ${count}> files{{
${items}}};

}  // namespace seriatim::console::page
")
