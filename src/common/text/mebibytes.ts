/** For sentences: `8.0`. */
export function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}
