# The files of a folder as texts in the library, which then needs no file: the generated source lists their names,
# without what follows the last dot, and their texts. Those named last come first, in this order; the others follow by
# name.
#
#   embedded_texts(OUTPUT FILES INCLUDE FUNCTION FIRST...)
function(embedded_texts output files include function)
  file(GLOB paths CONFIGURE_DEPENDS ${files})
  set(ordered "")
  foreach(name IN LISTS ARGN)
    set(found ${paths})
    list(FILTER found INCLUDE REGEX "/${name}\\.[a-z]+$")
    list(APPEND ordered ${found})
  endforeach()
  list(APPEND ordered ${paths})
  list(REMOVE_DUPLICATES ordered)
  set(texts "")
  foreach(path IN LISTS ordered)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(name ${path} NAME_WLE)
    file(READ ${path} text)
    string(APPEND texts "      {\"${name}\", R\"text(${text})text\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "// Generated from the files of a folder.
#include \"${include}\"

namespace partita {

const std::vector<EmbeddedText>& ${function}() {
  static const std::vector<EmbeddedText> kTexts = {
@texts@  };
  return kTexts;
}

}  // namespace partita
" @ONLY)
endfunction()
