// A C++ program that answers questions to the planner as the command does: plan_answers QUESTIONS. What it prints of
// question N is after the line "== N"; warnings and errors are lines that begin with "warning: " and "error: ".

#include <partita/plan.h>

#include <fstream>
#include <iostream>
#include <sstream>

using namespace partita;

namespace {

using Words = std::vector<std::string>;

/// The words of a command line: the command, what it is about, and options with their values.
struct Question {
  std::string command;
  Words about;
  std::map<std::string, std::string> options;

  explicit Question(const std::string& line) {
    std::istringstream words(line);
    words >> command;
    for (std::string word; words >> word;) {
      if (!word.starts_with("--")) {
        about.push_back(word);
      } else if (word == "--json" || word == "--free" || word == "--check") {
        options[word];
      } else {
        words >> options[word];
      }
    }
  }
  bool has(const std::string& option) const { return options.contains(option); }
  std::string text(const std::string& option, const std::string& otherwise = "") const {
    const auto found = options.find(option);
    return found == options.end() ? otherwise : found->second;
  }
};

PlanRequest request_of(const Question& question) {
  PlanRequest request{.model = question.about.at(0), .cluster = question.text("--cluster", "cpu")};
  request.target = question.text("--target");
  request.check = question.has("--check");
  request.batch = std::stoll(question.text("--batch", "0"));
  request.memory = std::stod(question.text("--memory", "0")) * (1 << 30);
  request.search = parse_name<Search>("search", question.text("--search", "exact"));
  request.tf32 = question.text("--tf32") != "false";
  request.pins = parse_pins(question.text("--pin"));
  request.runner_up = !question.has("--json") && !question.has("--pin") && !question.has("--fixed");
  if (question.has("--dtype")) request.dtype = parse_planned_dtype("dtype", question.text("--dtype"));
  return request;
}

void answer_plan(const Question& question) {
  const PlanRequest request = request_of(question);
  if (question.has("--out")) require_network(request);
  const bool is_fixed = question.has("--fixed");
  const PlannedJob job = is_fixed ? price(request, parse_configuration(question.text("--fixed"))) : plan(request);
  if (!is_fixed) require_fit(job);
  if (question.has("--out")) std::ofstream(question.text("--out")) << print(plan_file_of(job));
  if (question.has("--json")) {
    std::cout << to_json(job.priced);
    return;
  }
  std::cout << print(job.priced) << "\n" << print_layers(job);
  if (request.runner_up) std::cout << "\n" << print_others(job);
  if (!job.fits) std::cout << "warning: " << print_excess(job) << "\n";
}

void answer_explain(const Question& question) {
  const SavedPlan saved(question.about.at(0));
  const PlannedJob job = saved.job();
  if (question.has("--op")) {
    std::cout << print(explain_op(job, question.text("--op"), question.has("--free")));
    return;
  }
  const std::string edits = saved.edits(), warning = saved.warning();
  std::cout << edits << (edits.empty() ? "" : "\n") << print(job.priced) << "\n" << print_layers(job);
  if (!warning.empty()) std::cout << "warning: " << warning << "\n";
}

void answer_diff(const Question& question) {
  const PlanDifferences differences = diff(SavedPlan(question.about.at(0)), SavedPlan(question.about.at(1)));
  std::cout << differences.text;
  for (const std::string& warning : differences.warnings) std::cout << "warning: " << warning << "\n";
}

void answer(const Question& question) {
  try {
    if (question.command == "plan") answer_plan(question);
    if (question.command == "explain") answer_explain(question);
    if (question.command == "diff") answer_diff(question);
  } catch (const Error& error) {
    std::cout << "error: " << error.what() << "\n";
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 64;
  std::ifstream questions(words[1]);
  int number = 0;
  for (std::string line; std::getline(questions, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::cout << "== " << ++number << "\n";
    answer(Question(line));
  }
}
