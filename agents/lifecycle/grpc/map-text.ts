/** The texts that a JSON object of texts holds, for the map `field`. Throws a sentence where it is none. */
export function textsIn(field: string, text: string): Readonly<Record<string, string>> {
  const value = parsed(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    if (Object.values(value).every((item) => typeof item === 'string')) return value as Record<string, string>
  throw new Error(`field ${field} is ${JSON.stringify(text.slice(0, 60))}; allowed is a JSON object of texts`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
