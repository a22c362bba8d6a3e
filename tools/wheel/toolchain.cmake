# Compiles with the compiler of this machine for the C library in PARTITA_WHEEL_ROOT, which is older.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(PARTITA_WHEEL_ROOT "" CACHE PATH "The folder that tools/wheel/root.sh has made")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PARTITA_WHEEL_ROOT)
set(CMAKE_SYSROOT ${PARTITA_WHEEL_ROOT})
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PARTITA_WHEEL_ROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${PARTITA_WHEEL_ROOT}/usr/local/lib/pkgconfig:${PARTITA_WHEEL_ROOT}/usr/lib/x86_64-linux-gnu/pkgconfig)
# The C++ library comes along, hidden: those of the machine and of other packages stay apart from it.
set(CMAKE_CXX_FLAGS_INIT "-fno-gnu-unique")
# Start files and libraries of the folder come before those next to the compiler.
foreach(kind IN ITEMS EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT
      "-static-libstdc++ -Wl,--exclude-libs,ALL -Wl,--allow-shlib-undefined -L${PARTITA_WHEEL_ROOT}/usr/local/lib/gomp \
-B${PARTITA_WHEEL_ROOT}/usr/lib/x86_64-linux-gnu -L${PARTITA_WHEEL_ROOT}/lib/x86_64-linux-gnu \
${PARTITA_WHEEL_ROOT}/usr/local/lib/newer_glibc.o")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lrt")
endforeach()
