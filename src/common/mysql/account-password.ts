import { createHmac } from 'node:crypto'

/** What a secret begins with whose passwords satisfy policy MEDIUM. Other secrets derive what they always did. */
const form = 'medium:'
/** A lower-case letter, an upper-case one, a digit and another character, whatever the rest is. */
const ofEachKind = 'aA1-'
const length = 32

/**
 * The secret of a new cluster. `validate_password.policy` MEDIUM, the default of that component, takes each password
 * that is derived from the secret; without the form MEDIUM refuses one in three, for want of a special character.
 * @param random text that nobody guesses
 */
export function newAccountSecret(random: string): string {
  return `${form}${random}`
}

/**
 * The password of one MySQL account, from the cluster's secret: the same on every instance without ever being sent.
 * 32 characters of base64url, which need no quoting in SQL, option files or URLs; a replication channel takes no more.
 * @param generation a random name that is no secret, another for each rotation; '' for the first passwords
 */
export function passwordFor(secret: string, user: string, generation = ''): string {
  const derived = createHmac('sha256', secret)
    .update(generation === '' ? user : `${user} ${generation}`)
    .digest('base64url')
  return secret.startsWith(form)
    ? `${derived.slice(0, length - ofEachKind.length)}${ofEachKind}`
    : derived.slice(0, length)
}
