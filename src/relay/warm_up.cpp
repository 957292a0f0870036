#include "relaygen/relay.h"

namespace relaygen {

void warm_up(Engine& engine) {
  for (const Model model : {Model::large, Model::small}) {
    Request request;
    request.prompt = {0};
    request.policy = {.thinker = model, .handoffs = HandoffRule::never, .answer_by = model};
    request.budgets = {.total = 2};
    if (auto generation = Generation::create(engine, std::move(request)); generation) (void)generation->run(engine);
  }
}

}  // namespace relaygen
