#include "eval/statistics.h"
#include <algorithm>
#include <vector>
namespace relaygen::eval { Estimate median(std::span<const double> v){ std::vector<double> s(v.begin(),v.end()); std::sort(s.begin(),s.end()); const auto n=s.size(); return {n%2?s[n/2]:(s[n/2-1]+s[n/2])/2,s.front(),s.back(),0}; } }
