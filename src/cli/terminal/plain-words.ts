/** Wrong usage, as the library that reads command lines says it, in words of people who type commands. */
export function inPlainWords(text: string): string {
  return text
    .replace(/command-argument value ('[^]*?') is invalid for argument '([^']*)'/, '$1 is not taken for <$2>')
    .replace(/option '([^']*)' argument ('[^]*?') is invalid/, "$2 is not taken for option '$1'")
}
