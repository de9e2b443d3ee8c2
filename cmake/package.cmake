# What is installed and packed. The layout is that of the file hierarchy standard below any prefix, and relocatable:
#   bin/ programs, libexec/claimcheck/ the CUDA worker behind its wrapper, lib/claimcheck/ libraries that came along,
#   share/claimcheck/scripts/, share/man, share/bash-completion, share/doc/claimcheck
# `cpack` in the build folder makes a tarball and a .deb (scripts/package.sh does both).
include(GNUInstallDirs)

install(TARGETS claimcheck claimcheck-bench-host RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(CLAIMCHECK_WITH_CUDA)
  install(TARGETS claimcheck-bench-cuda RUNTIME DESTINATION libexec/claimcheck)
  install(PROGRAMS scripts/package/claimcheck-bench-cuda DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET claimcheck_mpi)
  # Linked with the machine's own MPI, and loaded only under a launcher.
  install(FILES $<TARGET_FILE:claimcheck_mpi> DESTINATION lib/claimcheck)
endif()
install(DIRECTORY scripts/mpi scripts/slurm scripts/kubernetes DESTINATION share/claimcheck/scripts
        USE_SOURCE_PERMISSIONS)
install(PROGRAMS scripts/gpu-check.sh scripts/gpu_check.py DESTINATION share/claimcheck/scripts)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/claimcheck)
install(FILES cmake/debian-copyright DESTINATION share/doc/claimcheck RENAME copyright)
install(
  CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/scripts/package/bundle.sh\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\"
                        COMMAND_ERROR_IS_FATAL ANY)")

# The C library must be the machine's own: what was built with this one needs it or a newer one.
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX MATCH "[0-9]+\\.[0-9]+" libc "${libc}")

set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_PACKAGE_NAME claimcheck)
set(CPACK_PACKAGE_VENDOR "claimcheck developers")
set(CPACK_PACKAGE_CONTACT "claimcheck developers <claimcheck@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "check what a rented GPU machine does against what was sold")
set(CPACK_PACKAGE_DESCRIPTION
    "claimcheck measures a GPU machine (TFLOPS by data type, memory, links, NCCL, storage), judges the claims of its
seller with evidence, and prices a useful FLOP. The libraries of NVIDIA are taken from the machine or from Python wheels.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${libc})")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "fio, openmpi-bin, perftest")
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "https://claimcheck.example")
include(CPack)
