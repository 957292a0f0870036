# Compiles through ccache where it is installed; a launcher given on the command line stands.
# llama.cpp from source is built for the CPU at hand, which its command lines do not tell: objects of one CPU must not be
# taken for those of another, so ccache keeps them apart.
find_program(RELAYGEN_CCACHE ccache DOC "ccache, or empty to do without")
if(RELAYGEN_CCACHE)
  set(launcher "${RELAYGEN_CCACHE}")
  if(NOT RELAYGEN_LLAMA STREQUAL "prebuilt" AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo cpu_flags REGEX "^(flags|Features)" LIMIT_COUNT 1)
    string(SHA256 cpu "${cpu_flags}")
    string(SUBSTRING "${cpu}" 0 16 cpu)
    set(launcher "${CMAKE_COMMAND};-E;env;CCACHE_NAMESPACE=${cpu};${RELAYGEN_CCACHE}")
  endif()
  foreach(language C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${launcher}")
    endif()
  endforeach()
endif()
