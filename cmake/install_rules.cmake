# `cmake --install`: the program, the library with its public headers, and what find_package(Partita) reads.
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_BINARY_DIR}/include)
set(PARTITA_HEADERS_STAMP ${headers}/stamp)  # newer when a copy is
file(GLOB_RECURSE originals CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.h ${CMAKE_SOURCE_DIR}/include/*.h)
add_custom_command(OUTPUT ${PARTITA_HEADERS_STAMP}
                   COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${headers}
                           -P ${CMAKE_SOURCE_DIR}/cmake/copy_public_headers.cmake
                   DEPENDS ${originals} ${CMAKE_SOURCE_DIR}/cmake/copy_public_headers.cmake
                   COMMENT "Copying the public headers")
add_custom_target(public_headers ALL DEPENDS ${PARTITA_HEADERS_STAMP})

if(NOT PARTITA_REST)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Partita)
  set_target_properties(partita_core PROPERTIES OUTPUT_NAME partita EXPORT_NAME partita)
  install(TARGETS partita RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS partita_core EXPORT PartitaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${headers}/partita DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT PartitaTargets NAMESPACE Partita:: DESTINATION ${package})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/PartitaConfig.cmake.in ${CMAKE_BINARY_DIR}/PartitaConfig.cmake
                                INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/PartitaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/PartitaConfig.cmake ${CMAKE_BINARY_DIR}/PartitaConfigVersion.cmake
                ${CMAKE_SOURCE_DIR}/cmake/FindOneDNN.cmake DESTINATION ${package})
endif()
