#include "lab/demo/demo.hpp"

#include "app/verbs/verbs.hpp"

namespace seriatim::app {

Exit perform(const DemoVerb& verb, Context&) {
  return static_cast<Exit>(run_demo({std::chrono::seconds(verb.seconds), verb.keep}));
}

}  // namespace seriatim::app
