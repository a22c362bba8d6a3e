# Compiles through ccache where it is installed, so that another checkout, or one that was removed, takes objects that
# were compiled before. A launcher that the user names is left as it is.
option(PARTITA_CCACHE "Compile through ccache if it is installed" ON)
find_program(PARTITA_CCACHE_PROGRAM ccache)
mark_as_advanced(PARTITA_CCACHE_PROGRAM)
if(PARTITA_CCACHE AND PARTITA_CCACHE_PROGRAM AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers keep times of files, which differ between checkouts; paths below the sources are made relative.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${PARTITA_CCACHE_PROGRAM})
endif()
