# Flags that every target of the project shares.
add_library(partita_settings INTERFACE)
target_include_directories(partita_settings INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(partita_settings INTERFACE -Wall -Wextra -Wno-missing-field-initializers -fno-math-errno
                       -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_link_libraries(partita_settings INTERFACE Threads::Threads OpenMP::OpenMP_CXX fmt::fmt)
# The compiler collects its garbage from 1 GiB on instead of 128 MiB: a tenth of its time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(partita_settings INTERFACE --param=ggc-min-heapsize=1048576)
endif()
# g++ 12 takes a sum of its own strings for an overlapping copy, a long or an outside one (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(partita_settings INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
# clang tells of each simd loop that it leaves scalar, in code that is right all the same; bench_pointwise shows them.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(partita_settings INTERFACE -Wno-pass-failed)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(partita_settings INTERFACE -march=${PARTITA_ARCH})
endif()
if(PARTITA_WERROR)
  target_compile_options(partita_settings INTERFACE -Werror)
endif()
if(PARTITA_LIBFUZZER)
  target_compile_options(partita_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(PARTITA_SANITIZE)
  # The checks left out look at every member access and triple the time to compile.
  target_compile_options(partita_settings INTERFACE -fsanitize=${PARTITA_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize=null,alignment,object-size,vptr -fno-sanitize-recover=all)
  target_link_options(partita_settings INTERFACE -fsanitize=${PARTITA_SANITIZE})
else()
  target_compile_options(partita_settings INTERFACE -fstack-protector-strong
                         $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
  target_link_options(partita_settings INTERFACE -Wl,-z,relro,-z,now)
endif()
