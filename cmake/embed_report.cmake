# Run by the build: puts the parts of WEB and the plotting library of LIBRARY into template.html and writes the result to
# OUTPUT as a C++ string. Only @@data@@ and @@title@@ are left for the program to fill in.
function(read_part variable file)
  file(READ "${file}" text)
  # Text that would end the element it stands in, or begin a comment there.
  foreach(forbidden "</script" "</style" "<!--" ")relaygen_html\"")
    string(FIND "${text}" "${forbidden}" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "${file} holds ${forbidden}, so it cannot be put into an HTML file as it is")
    endif()
  endforeach()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

set(scripts "")
foreach(part parts eval bench candidates trace calibrate report)
  read_part(text "${WEB}/${part}.js")
  string(APPEND scripts "${text}")
endforeach()
read_part(style "${WEB}/report.css")
read_part(d3 "${LIBRARY}/d3.min.js")
read_part(plot "${LIBRARY}/plot.umd.min.js")
read_part(licences "${LIBRARY}/LICENCES.txt")

file(READ "${WEB}/template.html" html)
foreach(part style licences d3 plot scripts)
  string(REPLACE "@@${part}@@" "${${part}}" html "${html}")
endforeach()
file(WRITE "${OUTPUT}"
     "// Made by cmake/embed_report.cmake.\n#include \"report/template.h\"\n\n"
     "std::string_view relaygen::report::html_template() {\n  return R\"relaygen_html(")
file(APPEND "${OUTPUT}" "${html}")
file(APPEND "${OUTPUT}" ")relaygen_html\";\n}\n")
