/** Names of before 8.0.26, and of an option that sets a variable of another name, which servers still take. */
const formerNames: readonly (readonly [RegExp, string])[] = [
  [/slave/g, 'replica'],
  [/master(?!_key)/g, 'source'],
  [/^default_time_zone$/, 'time_zone'],
  [/^server-?id$/, 'server_id'],
]

/**
 * Spellings that a server takes for the same, the whole name first: dashes, capitals, `loose_`, names of before, and a
 * prefix that says on, off or how much at most.
 */
export function spellings(given: string): readonly string[] {
  const lower = given
    .toLowerCase()
    .replaceAll('-', '_')
    .replace(/^loose_/, '')
  const whole = formerNames.reduce((name, [former, now]) => name.replace(former, now), lower)
  const bare = whole.replace(/^(?:skip|disable|enable|maximum)_/, '')
  return bare === whole ? [whole] : [whole, bare]
}
