/**
 * The version of what `-o json` prints. The number grows when a field is taken away, renamed or given another meaning;
 * new fields come without that.
 */
const formatVersion = 1

/**
 * A line of JSON for scripts (docs/reference/json.md): every command prints one object, with the version of its format.
 */
export function toJson(result: object): string {
  return JSON.stringify({ formatVersion, ...result })
}
