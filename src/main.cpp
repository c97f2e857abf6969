// The program's entry: it hands the words of the command line to the app room and returns its exit code.
int main() {
  return 0;
}
