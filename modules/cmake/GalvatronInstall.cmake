# What `cmake --install` lays down: the program, and below share/galvatron what goes with it. The decks name their data
# relative to the working folder, so share/galvatron looks as the source folder does. Module files are written at install
# time, because only then the prefix is known for sure (cmake --install --prefix).
set(galvatron_data ${CMAKE_INSTALL_DATADIR}/galvatron)
install(TARGETS galvatron RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY inputs docs DESTINATION ${galvatron_data})
install(FILES README.md LICENSE DESTINATION ${galvatron_data})
install(FILES jobscripts/common.sh DESTINATION ${galvatron_data}/jobscripts)
install(DIRECTORY jobscripts/slurm DESTINATION ${galvatron_data}/jobscripts)
install(
  CODE "
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
  set(CMAKE_INSTALL_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
  set(galvatron_data \"${galvatron_data}\")
  set(modulefiles \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${galvatron_data}/modulefiles\")
  configure_file(\"${PROJECT_SOURCE_DIR}/modules/env/galvatron.lua.in\"
                 \"\${modulefiles}/lmod/galvatron/${PROJECT_VERSION}.lua\" @ONLY)
  configure_file(\"${PROJECT_SOURCE_DIR}/modules/env/galvatron.tcl.in\"
                 \"\${modulefiles}/tcl/galvatron/${PROJECT_VERSION}\" @ONLY)
  message(STATUS \"Installing: \${modulefiles}\")
  ")
