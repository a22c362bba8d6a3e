# `cmake --build build/release --target package`: a .tar.gz and, where Debian's tools are, a .deb of all that cmake
# --install installs. In the .deb dpkg-shlibdeps names the libraries of the program with their versions.
if(NOT PARTITA_INSTALL OR PARTITA_REST)
  return()
endif()
set(CPACK_PACKAGE_VENDOR "The Partita authors")
set(CPACK_PACKAGE_CONTACT "The Partita authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Neural networks trained on many devices from a program written for one")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR TGZ)
find_program(PARTITA_SHLIBDEPS dpkg-shlibdeps)
find_program(PARTITA_FILE file)  # CPack asks it which files are programs
mark_as_advanced(PARTITA_SHLIBDEPS PARTITA_FILE)
if(PARTITA_SHLIBDEPS AND PARTITA_FILE)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The library is static: a C++ program that uses it needs the packages of the build. MPI is loaded where it is.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin, g++, cmake, pkg-config, libfmt-dev, libdnnl-dev, zlib1g-dev, liblzma-dev, \
libzip-dev, libturbojpeg0-dev, libpng-dev, libtomlplusplus-dev, libprotobuf-dev")
include(CPack)
