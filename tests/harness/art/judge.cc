// Has the verifiers of ART 11 (libart.so) judge a dex file, a jar or an apk.
//
//     judge BOOT_CLASS_PATH FILE            as dex2oat does: what it is unsure of is left for the device
//     judge BOOT_CLASS_PATH FILE device     as a device does: nothing is left for later
//
// The runtime is made, but never started. Its output is a line for each finding, the fields separated by tabs:
//
//     file    WHY                  the file cannot be loaded
//     unlinked CLASS  WHY          the class cannot be loaded
//     hard    CLASS   WHY          the class is refused
//     locks   METHOD               its monitors do not balance: a device interprets it
//     total   CLASSES  METHODS     how many were judged; always the last line

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <android-base/logging.h>

#include "art_method-inl.h"
#include "base/mem_map.h"
#include "class_linker-inl.h"
#include "compiler_callbacks.h"
#include "dex/art_dex_file_loader.h"
#include "dex/class_reference.h"
#include "dex/descriptors_names.h"
#include "dex/dex_file-inl.h"
#include "handle_scope-inl.h"
#include "interpreter/unstarted_runtime.h"
#include "mirror/class-inl.h"
#include "mirror/dex_cache-inl.h"
#include "mirror/throwable.h"
#include "runtime.h"
#include "runtime_options.h"
#include "scoped_thread_state_change-inl.h"
#include "thread-current-inl.h"
#include "verifier/class_verifier.h"
#include "verifier/method_verifier.h"

namespace art {
namespace {

constexpr uint32_t kApi = 30;

class Counter final : public CompilerCallbacks {
 public:
  Counter() : CompilerCallbacks(CallbackMode::kCompileApp) {}
  void MethodVerified(verifier::MethodVerifier*) override { ++methods; }
  void ClassRejected(ClassReference) override {}
  verifier::VerifierDeps* GetVerifierDeps() const override { return nullptr; }

  size_t methods = 0;
};

// Only what ends the process is worth a word.
void Quiet(android::base::LogId, android::base::LogSeverity severity, const char*, const char*, unsigned int,
           const char* message) {
  if (severity >= android::base::FATAL_WITHOUT_ABORT) fprintf(stderr, "%s\n", message);
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

std::string TakeException(Thread* self) REQUIRES_SHARED(Locks::mutator_lock_) {
  if (!self->IsExceptionPending()) return "";
  std::string text = self->GetException()->Dump();
  self->ClearException();
  return OneLine(text);
}

class Judge {
 public:
  explicit Judge(bool on_device) : on_device_(on_device) {}

  CompilerCallbacks* callbacks() { return &counter_; }

  void File(Thread* self, const DexFile& dex) REQUIRES_SHARED(Locks::mutator_lock_) {
    for (uint32_t i = 0; i < dex.NumClassDefs(); ++i) Class(self, dex, dex.GetClassDef(i));
  }

  void Total() const { printf("total\t%zu\t%zu\n", classes_, counter_.methods); }

 private:
  void Class(Thread* self, const DexFile& dex, const dex::ClassDef& def) REQUIRES_SHARED(Locks::mutator_lock_) {
    ClassLinker* linker = Runtime::Current()->GetClassLinker();
    const char* descriptor = dex.GetClassDescriptor(def);
    const std::string name = PrettyDescriptor(descriptor);
    StackHandleScope<3> scope(self);
    Handle<mirror::Class> klass(scope.NewHandle(linker->FindSystemClass(self, descriptor)));
    const std::string unlinked = TakeException(self);
    ++classes_;
    if (klass == nullptr) printf("unlinked\t%s\t%s\n", name.c_str(), unlinked.c_str());
    // A class of an earlier dex file goes before one of the same name.
    if (klass != nullptr && &klass->GetDexFile() != &dex) return;
    if (klass == nullptr && on_device_) return;

    std::string why;
    verifier::FailureKind kind;
    if (klass != nullptr) {
      kind = verifier::ClassVerifier::VerifyClass(self, klass.Get(), &counter_, !on_device_,
                                                  verifier::HardFailLogMode::kLogNone, kApi, &why);
    } else {
      Handle<mirror::DexCache> cache(scope.NewHandle(linker->FindDexCache(self, dex)));
      Handle<mirror::ClassLoader> no_loader(scope.NewHandle<mirror::ClassLoader>(nullptr));
      kind = verifier::ClassVerifier::VerifyClass(self, &dex, cache, no_loader, def, &counter_, true,
                                                  verifier::HardFailLogMode::kLogNone, kApi, &why);
    }
    TakeException(self);
    if (kind == verifier::FailureKind::kHardFailure) {
      printf("hard\t%s\t%s\n", name.c_str(), OneLine(why).c_str());
    }
    if (klass == nullptr) return;
    for (ArtMethod& method : klass->GetDeclaredMethods(kRuntimePointerSize)) {
      if (!method.IsNative() && method.IsInvokable() && method.MustCountLocks()) {
        printf("locks\t%s\n", method.PrettyMethod().c_str());
      }
    }
  }

  Counter counter_;
  const bool on_device_;
  size_t classes_ = 0;
};

int Main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: judge BOOT_CLASS_PATH FILE [device]\n");
    return 2;
  }
  const std::string boot = argv[1], file = argv[2];
  const bool on_device = argc > 3 && strcmp(argv[3], "device") == 0;
  android::base::InitLogging(argv, Quiet, android::base::DefaultAborter);
  MemMap::Init();
  Judge judge(on_device);

  std::vector<std::unique_ptr<const DexFile>> dexes;
  std::string error;
  if (!ArtDexFileLoader().Open(file.c_str(), file, true, true, &error, &dexes)) {
    printf("file\t%s\n", OneLine(error).c_str());
    judge.Total();
    return 0;
  }

  // In front of the boot class path, so that the file's classes go before Android's of the same names.
  RuntimeOptions options = {{"-Xbootclasspath:" + file + ":" + boot, nullptr},
                            {"imageinstructionset", "x86_64"},
                            {"-Xnoimage-dex2oat", nullptr},
                            {"-Xno-sig-chain", nullptr},
                            {"-XX:DisableHSpaceCompactForOOM", nullptr},
                            {"-Xms192m", nullptr},
                            {"-Xmx192m", nullptr}};
  if (!on_device) options.emplace_back("compilercallbacks", judge.callbacks());
  RuntimeArgumentMap arguments;
  if (!Runtime::ParseOptions(options, false, &arguments) || !Runtime::Create(std::move(arguments))) {
    fprintf(stderr, "the runtime cannot be made\n");
    return 2;
  }
  android::base::SetLogger(Quiet);
  interpreter::UnstartedRuntime::Initialize();
  Thread* self = Thread::Current();
  self->TransitionFromRunnableToSuspended(kNative);
  {
    ScopedObjectAccess access(self);
    const std::vector<const DexFile*>& path = Runtime::Current()->GetClassLinker()->GetBootClassPath();
    for (size_t i = 0; i < dexes.size(); ++i) judge.File(self, *path[i]);
  }
  judge.Total();
  fflush(stdout);
  _exit(0);  // There is no way to shut down what was never started.
}

}  // namespace
}  // namespace art

int main(int argc, char** argv) { return art::Main(argc, argv); }
