# Sources of a target compiled together, by three parts of the path of their folder (src/ir/ops with src/ir/ops/shape,
# src/job, tests/laws), so that a name private to a file is unique within such a folder and an edit compiles its folder's
# part again, no more. A group ends at about 130,000 bytes of source and has the name of its folder, so that a new folder
# compiles no other again.
#
#   unity_groups(TARGET SOURCES...)
function(unity_groups target)
  if(NOT PARTITA_UNITY)
    return()
  endif()
  set(most 130000)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(REGEX REPLACE "^([^/]+/[^/]+/[^/]+)/.*" "\\1" folder ${folder})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    file(SIZE ${source} size)
    if(NOT DEFINED part_${folder})
      set(part_${folder} 1)
      set(bytes_${folder} 0)
    endif()
    math(EXPR bytes_${folder} "${bytes_${folder}} + ${size}")
    if(bytes_${folder} GREATER most AND NOT bytes_${folder} EQUAL size)
      math(EXPR part_${folder} "${part_${folder}} + 1")
      set(bytes_${folder} ${size})
    endif()
    get_source_file_property(earlier ${source} UNITY_GROUP)  # by another target that compiles it, too
    if(NOT earlier)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${folder}_${part_${folder}})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
