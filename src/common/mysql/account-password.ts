import { createHmac } from 'node:crypto'

/**
 * The password of one MySQL account, from the cluster's secret: the same on every instance without ever being sent.
 * 32 characters of base64url, which need no quoting in SQL, option files or URLs.
 * @param generation a random name that is no secret, another for each rotation; '' for the first passwords
 */
export function passwordFor(secret: string, user: string, generation = ''): string {
  return createHmac('sha256', secret)
    .update(generation === '' ? user : `${user} ${generation}`)
    .digest('base64url')
    .slice(0, 32)
}
