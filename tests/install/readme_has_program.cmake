# The README shows PROGRAM, in a block of LANGUAGE, to the letter.
file(READ "${README}" readme)
file(READ "${PROGRAM}" program)
string(FIND "${readme}" "```${LANGUAGE}\n${program}```" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${README} does not hold ${PROGRAM} as it is; copy it there")
endif()
