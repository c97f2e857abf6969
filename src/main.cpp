// The program's entry: it hands the words of the command line to the app room and returns its exit code.
#include "app/app.hpp"
#include "app/verbs.hpp"

int main(int argc, char** argv) {
  return galvatron::app::run({argv + 1, argv + argc}, galvatron::app::verbs());
}
