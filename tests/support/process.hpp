#pragma once

#include "lab/process/process.hpp"
#include "lab/process/temporary_folder.hpp"

namespace seriatim::testing {

using lab::Ended;
using lab::Process;
using lab::run;
using lab::TemporaryFolder;
using lab::wait_until;

}  // namespace seriatim::testing
