#include "vendor/overrides.h"

// Definitions of the functions that overrides.h declares.
