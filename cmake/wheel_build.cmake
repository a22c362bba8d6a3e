# `pip install .` goes on with the build folder of run.sh and test.sh (pyproject.toml), so that little is left to compile.
# What scikit-build-core sets for the wheel is for that one run. It must not stay in the cache, where it would decide a
# later `cmake --install`: the prefix is a folder that pip removes, the Python may be one of an environment.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()  # a wheel of the project around this one
endif()
if(SKBUILD)
  set(wheel_scripts ${SKBUILD_SCRIPTS_DIR})
  get_cmake_property(cached CACHE_VARIABLES)
  list(FILTER cached INCLUDE REGEX "^SKBUILD")
  foreach(name IN LISTS cached)
    unset(${name} CACHE)
  endforeach()
  set(SKBUILD ON)  # for the rest of this run
  if(NOT PARTITA_PREFIX)
    set(PARTITA_PREFIX /usr/local)
  endif()
  set(CMAKE_INSTALL_PREFIX ${PARTITA_PREFIX} CACHE PATH "Folder into which cmake --install installs" FORCE)
  set(PARTITA_WHEEL ON CACHE INTERNAL "The last run was for a wheel")
else()
  set(PARTITA_PREFIX ${CMAKE_INSTALL_PREFIX} CACHE INTERNAL "The prefix of the last run that was not for a wheel")
  if(PARTITA_WHEEL)
    get_cmake_property(cached CACHE_VARIABLES)
    list(FILTER cached INCLUDE REGEX "^_?Python3?_|^PYTHON_|^pybind11_DIR$|^CMAKE_(MODULE|PREFIX)_PATH$")
    foreach(name IN LISTS cached)
      get_property(help CACHE ${name} PROPERTY HELPSTRING)
      # One that the command line of this run names has this text.
      if(NOT help STREQUAL "No help, variable specified on the command line.")
        unset(${name} CACHE)
      endif()
    endforeach()
    set(PARTITA_WHEEL OFF CACHE INTERNAL "The last run was for a wheel")
  endif()
endif()
