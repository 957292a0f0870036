// Renders report data for the browser test: render_report DATA.json REPORT.html
#include <fstream>
#include <iostream>

#include "report/report.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: render_report DATA.json REPORT.html\n";
    return 2;
  }
  std::ifstream input(argv[1]);
  const auto data = relaygen::OrderedJson::parse(input, nullptr, false);
  const auto html = relaygen::report::render_report(data);
  if (!html) {
    std::cerr << argv[1] << ": " << html.error().message << '\n';
    return 1;
  }
  std::ofstream output(argv[2], std::ios::binary);
  output << *html;
  return output.flush() ? 0 : 1;
}
