# The files of one instruction-set level share no inline function with the rest of the program: the linker keeps one copy of those,
# and could keep the one with instructions that an older processor lacks. Usage: cmake -DNM=nm -DOBJECTS=a.o;b.o -DLEVEL=x -P this
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --defined-only -C ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" shared "${symbols}")
  list(FILTER shared EXCLUDE REGEX "galvatron::kernels::${LEVEL}::|DW\\.ref\\.")
  if(shared)
    message(FATAL_ERROR "${object} defines symbols that other levels may define too: ${shared}")
  endif()
endforeach()
