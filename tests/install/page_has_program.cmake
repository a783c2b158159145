# The page PAGE shows PROGRAM, in a block of LANGUAGE, to the letter.
file(READ "${PAGE}" page)
file(READ "${PROGRAM}" program)
string(FIND "${page}" "```${LANGUAGE}\n${program}```" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${PAGE} does not hold ${PROGRAM} as it is; copy it there")
endif()
