# The listing of a folder is a registry: every x.cpp in it defines `TYPE x_SUFFIX()`, and the generated
# source returns them all, in the order of the names.
#
#   folder_registry(OUTPUT FOLDER INCLUDE TYPE SUFFIX FUNCTION EXCEPT...)
function(folder_registry output folder include type suffix function)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  set(declarations "")
  set(calls "")
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    if(name MATCHES "_test$" OR name IN_LIST ARGN)
      continue()
    endif()
    string(APPEND declarations "${type} ${name}_${suffix}();\n")
    string(APPEND calls "      ${name}_${suffix}(),\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "// Generated from the listing of a folder.
#include \"${include}\"

namespace partita {

${declarations}
std::vector<${type}> ${function}() {
  return {
${calls}  };
}

}  // namespace partita
" @ONLY)
endfunction()
