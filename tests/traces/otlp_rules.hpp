#pragma once

#include <string>
#include <vector>

namespace seriatim::testing {

/// Where a request's body breaks OTLP's JSON mapping of ExportTraceServiceRequest: a field that the
/// protocol does not have, a value of another type, an id of another length. Empty: nowhere.
std::vector<std::string> otlp_breaches(const std::string& body);

}  // namespace seriatim::testing
