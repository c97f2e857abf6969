#pragma once
// Classes of traffic between ranks. Communicators are made by them and prices ask about them; the word is
// here because those rooms share no other.

namespace galvatron::core {

/// Traffic that must not wait for other traffic gets communicators of its own.
enum class TrafficClass { layer, gradient, pipeline };

}  // namespace galvatron::core
