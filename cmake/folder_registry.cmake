# The sources of a folder and of the folders in it are a registry: every x.cpp defines `std::vector<TYPE> x_SUFFIX()`,
# and the generated source joins what they return, in the order of the paths.
#
#   folder_registry(OUTPUT FOLDER INCLUDE TYPE SUFFIX FUNCTION EXCEPT...)
function(folder_registry output folder include type suffix function)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  set(declarations "")
  set(calls "")
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    if(name MATCHES "_test$" OR name IN_LIST ARGN)
      continue()
    endif()
    string(APPEND declarations "std::vector<${type}> ${name}_${suffix}();\n")
    string(APPEND calls "${name}_${suffix}, ")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "// Generated from the listing of a folder.
#include \"${include}\"

namespace partita {

${declarations}
std::vector<${type}> ${function}() {
  std::vector<${type}> all;
  for (const auto& list : {${calls}}) {
    for (${type}& one : list()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace partita
" @ONLY)
endfunction()
