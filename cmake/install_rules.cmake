# The public headers, and `cmake --install`: the program with its completions, the library with its public headers, the
# files for find_package(Partita), the documentation.
include(CMakePackageConfigHelpers)

set(headers ${PROJECT_BINARY_DIR}/include)
set(PARTITA_HEADERS_STAMP ${headers}/stamp)  # newer when a copy is
file(GLOB_RECURSE originals CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
add_custom_command(OUTPUT ${PARTITA_HEADERS_STAMP}
                   COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${headers}
                           -P ${PROJECT_SOURCE_DIR}/cmake/copy_public_headers.cmake
                   DEPENDS ${originals} ${PROJECT_SOURCE_DIR}/cmake/copy_public_headers.cmake
                   COMMENT "Copying the public headers")
add_custom_target(partita_headers DEPENDS ${PARTITA_HEADERS_STAMP})
# They are there as soon as the library is: for programs that a project around this one builds, and to be installed.
add_dependencies(partita_core partita_headers)

if(NOT PARTITA_REST)
  set_target_properties(partita_core PROPERTIES OUTPUT_NAME partita EXPORT_NAME partita)
endif()
if(PARTITA_INSTALL AND NOT PARTITA_REST)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Partita)
  install(TARGETS partita RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET partita_sentencepiece)
    install(TARGETS partita_sentencepiece LIBRARY DESTINATION lib/partita)  # where the program looks for it
  endif()
  install(TARGETS partita_core EXPORT PartitaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${headers}/partita DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT PartitaTargets NAMESPACE Partita:: DESTINATION ${package})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/PartitaConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/PartitaConfig.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/PartitaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/PartitaConfig.cmake ${PROJECT_BINARY_DIR}/PartitaConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/cmake/FindOneDNN.cmake DESTINATION ${package})
  # The documentation keeps its folders, so that links between pages lead somewhere.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
          PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
                ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
  if(PARTITA_COMPLETIONS)
    set(zsh zsh/site-functions)
    if(EXISTS /etc/debian_version)
      set(zsh zsh/vendor-completions)
    endif()
    install(FILES ${PARTITA_COMPLETIONS}/partita DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PARTITA_COMPLETIONS}/_partita DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh})
    install(FILES ${PARTITA_COMPLETIONS}/partita.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()
