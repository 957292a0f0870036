# Compiles through ccache where it is installed; a launcher given on the command line stands.
find_program(RELAYGEN_CCACHE ccache DOC "ccache, or empty to do without")
if(RELAYGEN_CCACHE)
  foreach(language C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${RELAYGEN_CCACHE}")
    endif()
  endforeach()
endif()
