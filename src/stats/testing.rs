//! Random numbers for simulations in tests.

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;

/// A standard normal value (Box and Muller).
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..std::f64::consts::TAU));
    (-2.0 * f64::ln(radius)).sqrt() * angle.cos()
}
