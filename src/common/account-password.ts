import { createHmac } from 'node:crypto'

/**
 * The password of one MySQL account, from the cluster's secret: the same on every instance without ever being sent.
 * 32 characters of base64url, which need no quoting in SQL, option files or URLs.
 */
export function passwordFor(secret: string, user: string): string {
  return createHmac('sha256', secret).update(user).digest('base64url').slice(0, 32)
}
