# The HTML report's template as a part of relaygen_report: web/report with the plotting library in it, in one C++ file.
foreach(file d3.min.js plot.umd.min.js LICENCES.txt)
  if(NOT EXISTS "${RELAYGEN_DEPS}/web/${file}")
    message(FATAL_ERROR "The report's plotting library is not there yet (${RELAYGEN_DEPS}/web/${file} is missing): run scripts/fetch-web first, or `make build`, which does it.")
  endif()
endforeach()

set(report_parts web/report/template.html web/report/report.css web/report/parts.js web/report/eval.js web/report/bench.js web/report/candidates.js web/report/trace.js web/report/calibrate.js web/report/report.js)
list(TRANSFORM report_parts PREPEND "${CMAKE_SOURCE_DIR}/")
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/report/template.cpp
  COMMAND ${CMAKE_COMMAND} "-DWEB=${CMAKE_SOURCE_DIR}/web/report" "-DLIBRARY=${RELAYGEN_DEPS}/web"
          "-DOUTPUT=${CMAKE_BINARY_DIR}/report/template.cpp" -P ${CMAKE_SOURCE_DIR}/cmake/embed_report.cmake
  DEPENDS ${report_parts} ${CMAKE_SOURCE_DIR}/cmake/embed_report.cmake
          "${RELAYGEN_DEPS}/web/d3.min.js" "${RELAYGEN_DEPS}/web/plot.umd.min.js" "${RELAYGEN_DEPS}/web/LICENCES.txt"
  COMMENT "Assembling the report's template"
  VERBATIM)
target_sources(relaygen_report PRIVATE ${CMAKE_BINARY_DIR}/report/template.cpp)
# One literal of half a megabyte; no compiler that builds this has a limit there.
set_source_files_properties(${CMAKE_BINARY_DIR}/report/template.cpp PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
