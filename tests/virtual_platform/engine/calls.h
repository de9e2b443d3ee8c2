// Calls of vendor functions: counted, and failing on demand.
//   CLAIMCHECK_VIRTUAL_FAIL=FUNCTION:N[:CODE]  the N-th call of FUNCTION (from 1) fails, with CODE if given
//   CLAIMCHECK_VIRTUAL_CALLS=FILE              at exit, one line "FUNCTION COUNT" for each function called
#pragma once

namespace virtual_platform {

// Called first in every function of a stand-in, `function` being a string literal: 0, or the code to return at once.
int fail_point(const char* function, int code);

}  // namespace virtual_platform
